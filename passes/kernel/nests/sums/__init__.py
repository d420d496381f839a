"""Loop nests of sums of products in the registers of cores without vectors."""
