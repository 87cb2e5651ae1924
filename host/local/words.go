package local

import (
	"strings"

	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// FilesOf says where a fork has its files.
func FilesOf(f host.Forked) string {
	switch {
	case f.Text != "":
		return strings.ReplaceAll(clip.Plain(f.Text), "\n", "\n  ")
	case f.Dir == "":
		return "it has no workspace"
	}
	return "both sessions work in " + clip.Plain(f.Dir)
}
