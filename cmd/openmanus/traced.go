package main

import (
	"context"
	"fmt"
	"time"

	"github.com/openmanus-go/openmanus/llm/providers"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/trace"
)

// traced is the runtime, with traces if the variables of OpenTelemetry ask for
// them. end sends what waits.
func (a *app) traced() (r run.Runtime, end func(), err error) {
	o, on, err := trace.FromEnv(a.t.env)
	if err != nil || !on {
		return a.local, func() {}, err
	}
	o.Version = thisBuild().Version
	o.Warn = func(err error) { fmt.Fprintf(a.t.err, "openmanus: %s\n", plain(err.Error())) }
	e := trace.NewExporter(o)
	end = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		e.Close(ctx)
	}
	return &trace.Runtime{Runtime: a.local, Journal: a.db, Export: e.Export, Providers: providers.All()}, end, nil
}
