package main

// sandboxCheckCmd is openmanus sandbox check.
type sandboxCheckCmd struct {
	Sandbox string `help:"Try only this sandbox: bubblewrap, landlock, docker or gvisor. Default: the first two." enum:",bubblewrap,landlock,docker,gvisor" default:"" placeholder:"KIND"`
	listing
}
