is "greets by name" "Hello, Ada!" "$(sh src/greet Ada)"
