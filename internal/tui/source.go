package tui

import "github.com/openmanus-go/openmanus/internal/surface"

// The vocabulary of a [Source] is that of package surface.
type (
	Source     = surface.Source
	Message    = surface.Message
	Setting    = surface.Setting
	Session    = surface.Session
	Decision   = surface.Decision
	Choices    = surface.Choices
	Named      = surface.Named
	Custom     = surface.Custom
	Elsewhere  = surface.Elsewhere
	CallEffect = surface.CallEffect
	Planner    = surface.Planner
	Previewer  = surface.Previewer
)

// BrokenOff is [surface.BrokenOff].
const BrokenOff = surface.BrokenOff
