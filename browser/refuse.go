package browser

import "fmt"

// A refusal is an error in the words of OpenManus, which models know.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func refuse(format string, a ...any) error { return refusal{fmt.Errorf(format, a...)} }
