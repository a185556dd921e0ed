"""How evidence is ordered and judged: fusion, reputation, routes, rewrites, sufficiency."""
