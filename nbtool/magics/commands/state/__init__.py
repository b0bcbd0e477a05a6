"""Commands about this chat's configuration, its models, this kernel and this page."""
