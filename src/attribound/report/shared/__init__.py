"""What all products of a run are made from: what is collected, the verdict, the words around it."""
