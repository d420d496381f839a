"""Loop nests of matrix products, and of what is made of them."""
