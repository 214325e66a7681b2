"""Models of scikit-learn as adopted models: trees, linear models, kernel models, and pipelines."""
