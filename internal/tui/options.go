package tui

import "context"

// Options say how the interface begins.
type Options struct {
	Source  Source
	Session string  // the session to show; "": none yet
	Task    *string // said at once; nil: nothing
	Attach  []string
	Theme   Theme
	Themes  []Theme // of the person's own
	Mode    string  // what the next session runs without a question
	Model   string  // of the next session, for display
	Dir     string  // where @paths begin
	DataDir string  // where the history of what was typed is kept; "": it is not

	Notices <-chan Notice // remarks of the program around; nil: none
	Asks    <-chan Ask    // its questions; nil: none

	// Clipboard returns the picture of the clipboard, as PNG; nil: it cannot be read.
	Clipboard func(ctx context.Context) ([]byte, error)

	Begin *Beginning // what may be missing; nil: nothing

	// Commands returns the commands of the person; nil: there are none.
	Commands func(ctx context.Context) ([]Custom, error)
}
