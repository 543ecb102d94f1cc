"""The frontier on Redis or Valkey, one server or a Cluster."""
