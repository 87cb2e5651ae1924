package main

// sandboxCheckCmd is openmanus sandbox check.
type sandboxCheckCmd struct {
	Sandbox string `help:"Try this one alone. Default: bubblewrap and landlock." enum:",bubblewrap,landlock" default:"" placeholder:"KIND"`
	listing
}
