"""Web push: notifications to the browsers of people, encrypted for each of them."""
