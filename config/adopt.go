package config

// Adopt makes the models of next, with their keys and addresses, those that c finds from now on:
// by [Config.Model], [Config.ModelAt], [Config.Choose] and the lists of names. Everything else
// stays as it was read. It is safe to call while c is used.
func (c *Config) Adopt(next *Config) { c.adopted.Store(next) }

// withModels returns the configuration whose models hold: c, or the one that it adopted.
func (c *Config) withModels() *Config {
	if next := c.adopted.Load(); next != nil {
		return next
	}
	return c
}
