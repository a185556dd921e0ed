"""The whole service on one machine: local AWS, index, token issuer, deployment."""
