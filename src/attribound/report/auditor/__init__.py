"""What auditors read: a page to sign, a section of a model card, a pack of evidence."""
