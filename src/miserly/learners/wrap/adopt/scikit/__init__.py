"""Models of scikit-learn as adopted models: trees, linear models, kernels, and pipelines in front of them."""
