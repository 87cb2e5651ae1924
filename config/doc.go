// Package config reads the configuration of openmanus from TOML files, the
// environment and flags. It knows the source of every value, so that errors,
// listings and hints can name it.
//
//	cfg, warnings, err := config.Load(config.Sources{
//		Dir:       cwd,
//		Env:       os.LookupEnv,
//		Providers: providers.All(),
//		Flags:     map[string]string{"model": "openai/gpt-5-mini"},
//	})
//	model, err := cfg.Model("") // provider, name, endpoint, key, prices
//
// # Files
//
// With [Sources].File (--config, or OPENMANUS_CONFIG) only that file is read.
// Otherwise the user's file, config.toml in [UserDir], and over it the
// workspace's, openmanus.toml in [Sources].Dir, value by value.
//
// A file in a workspace may come with a stranger's repository, or from an agent.
// It may choose among the models and agents that the user set up, and tighten
// limits. A key that would send a request or a credential elsewhere, run a
// program, or widen what is allowed is an error. To name the file with --config
// is to trust its content.
//
// keys.txt lists all keys. An unknown key is an error with its line and the
// nearest name. Files that were written for OpenManus load unchanged; keys
// without an effect get a [Warning].
//
// # Precedence
//
// A flag comes before the environment, that before a file, that before the
// default. The environment variable of a key is OPENMANUS_ and the key in
// capitals, with _ for everything that is neither letter nor digit:
// run.max_steps is OPENMANUS_RUN_MAX_STEPS. An empty variable counts as not set.
//
// # Models and credentials
//
// [Config.Model] walks over the providers in [Sources].Providers: whose model a
// name means, where it is, and which credentials may go there. No provider is
// known by name here. A credential is sent only where it was given for.
//
// The package reads only files that it names. The environment and the flags are
// passed in, and it opens no connection.
package config
