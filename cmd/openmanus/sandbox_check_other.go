//go:build !linux

package main

import (
	"context"
	"errors"
	"runtime"
)

// Run implements the command.
func (c *sandboxCheckCmd) Run(context.Context, *terminal, *globals) error {
	return usage(errors.New("there is no sandbox to try on " + runtime.GOOS))
}
