package main

// sandboxCheckCmd is openmanus sandbox check.
type sandboxCheckCmd struct {
	Sandbox string `help:"Try this one alone: bubblewrap, landlock, docker or gvisor. Default: the first two." enum:",bubblewrap,landlock,docker,gvisor" default:"" placeholder:"KIND"`
	listing
}
