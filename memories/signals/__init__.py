"""What a person who reviews should look at in a text, as reasons with weights; pure, and it decides nothing."""
