// Package host turns a configuration into running agents: it connects the
// packages of this module with a program that offers agents to users, on any
// surface.
//
//	cfg, err := env.Load(config.Sources{})
//	db, err := store.Open(cfg.DataDir, nil)
//	h, err := host.New(host.Options{Env: env, Config: cfg, Store: db})
//	defer h.Close()
//	spec, err := h.Spec(ctx)                          // what the configuration says
//	_, err = h.Open(ctx, id, host.Opening{Spec: spec, Said: &task})
//	err = h.Local.Wake(ctx, id)                       // do it
//
// # Specs
//
// A session is made from an [openmanus.Spec] and from nothing else. The second
// event of every session is an [openmanus.Configured]. It records the spec, and
// [SpecOf] reads the spec back. So a session that is resumed, forked, served or
// opened by another session gets the agent that it was opened with, whatever is
// configured by then. A spec names things (an agent, a model, a kind of
// sandbox); the configuration says what these names mean on this machine and
// has the keys.
//
// Three functions make specs: [Host.Spec] from the configuration,
// [Host.Complete] for a session that a user begins, and the host itself for a
// session that another session opens. One function, [Host.Flow], makes a flow
// from a spec.
//
// # From a setting to an agent
//
// A setting takes the same path on every surface. First the command line or a
// request becomes part of the configuration or of a spec. Then [Host.Complete]
// checks the names in the spec and adds the settings from the agent's own file.
// The session records the spec, and [Host.Flow] reads it. So a parameter is passed
// on once, and what a session does can be explained from its journal alone.
//
// Journals of format version 1 have no specs. version1.go works out a spec from
// what they do have, and is the only file that does so.
//
// # What is shared
//
// Sessions with equal specs, save for their limits, share an agent and what its
// tools keep running. A surface that outlives its sessions says with [Host.Hold]
// which of them it still needs.
//
// # What a program adds
//
// A program puts its own agents into [Options].Kinds and its own flows into
// [Options].Flows. [Env] is how a host reaches the user and the system. A
// program whose agents use a sandbox calls [sandbox.Main] first in its main
// function.
package host
