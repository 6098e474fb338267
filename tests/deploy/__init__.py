"""The files under ``deploy``: parsed, held against what the product has, and run where no container is needed."""
