"""Rows of the entity tables over many processes, on torch.distributed: who holds what, and what is told."""
