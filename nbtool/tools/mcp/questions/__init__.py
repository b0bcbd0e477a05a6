"""What a person is asked during the work with a server: its forms, and the consent to a login."""
