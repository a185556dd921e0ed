"""Sources, keys and signed policies: who may publish and what is in force."""
