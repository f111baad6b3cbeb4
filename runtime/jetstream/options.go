package jetstream

// Option changes how the engine uses the servers.
type Option func(*keeper)

// Replicas returns an option: the stream that Open makes is kept by so many servers of the
// cluster. The default is 1, which is for development: 3 survive the loss of a machine. A
// stream that exists is left as it is.
func Replicas(n int) Option { return func(k *keeper) { k.settings.Replicas = n } }
