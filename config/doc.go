// Package config finds out what a person wants: it reads TOML files, the
// environment and flags, and says of every value where it came from.
//
//	cfg, warnings, err := config.Load(config.Sources{
//		Dir:   cwd,
//		Env:   os.LookupEnv,
//		Flags: map[string]string{"model": "openai/gpt-5-mini"},
//	})
//	model, err := cfg.Model("") // provider, name, endpoint, key, prices
//
// # Files
//
// With [Sources].File (--config, or OPENMANUS_CONFIG) only that file is read.
// Otherwise the user's file, config.toml in [UserDir], and over it the
// workspace's, openmanus.toml in [Sources].Dir, value by value.
//
// A file that was found in a workspace may have come with somebody else's
// repository, or may have been written by an agent. It may choose among what
// the user set up and may tighten limits, and that is all: a key that would
// send a request or a key elsewhere, run something, or widen what is allowed
// is an error that says so. Naming the file with --config is consent to its
// content.
//
// Every key is known, by [Keys]: an unknown one is an error with its line and
// the nearest name. Files that were written for OpenManus load as they are;
// what has no meaning here gets a [Warning].
//
// # Precedence
//
// A flag comes before the environment, that before a file, that before the
// default. The environment variable of a key is OPENMANUS_ and the key in
// capitals with _ for everything that is neither letter nor digit:
// run.max_steps is OPENMANUS_RUN_MAX_STEPS. One that is set to nothing counts
// as not set.
//
// # Keys of providers
//
// A key goes only where it was given for: see [Config.Model].
//
// The package reads the files it names and nothing else: the environment and
// the flags are handed in, and it dials nobody.
package config
