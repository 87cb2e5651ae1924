package host

import (
	"context"
	"time"

	"github.com/openmanus-go/openmanus/journal/trace"
	"github.com/openmanus-go/openmanus/run"
)

// Traced returns the runtime of the host, with traces if the environment
// variables of OpenTelemetry ask for them. end sends what has not been sent, for
// at most five seconds.
func (h *Host) Traced() (r run.Runtime, end func(), err error) {
	o, on, err := trace.FromEnv(h.lookup)
	if err != nil || !on {
		return h.Local, func() {}, mistake(err)
	}
	o.Version = h.Version
	o.Warn = func(err error) { h.warnf("%s", err) }
	e := trace.NewExporter(o)
	end = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		e.Close(ctx)
	}
	return &trace.Runtime{Runtime: h.Local, Journal: h.Store, Export: e.Export, Providers: h.Config.Providers()}, end, nil
}
