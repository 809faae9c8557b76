"""What is printed and written of an evaluation."""
