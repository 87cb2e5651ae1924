package doctor

// A thing is a package to install. Its name may differ between package managers.
type thing struct {
	name  string
	names map[string]string // by the manager's program, where it differs; "": it has no such package
}

// A manager is a package manager: the program, and how it installs.
type manager struct{ program, install string }

// managers returns the known package managers, in the order in which they are
// looked for.
func managers() []manager {
	return []manager{
		{"apt-get", "apt-get install"}, {"dnf", "dnf install"}, {"pacman", "pacman -S"}, {"apk", "apk add"}, {"zypper", "zypper install"},
		{"brew", "brew install"}, {"winget", "winget install"},
	}
}

// install returns the command or sentence that says how to install t here.
func (c *checker) install(t thing) string {
	for _, m := range managers() {
		if _, err := c.LookPath(m.program); err != nil {
			continue
		}
		name := t.name
		if n, ok := t.names[m.program]; ok {
			name = n
		}
		if name == "" {
			continue
		}
		return m.install + " " + name
	}
	switch c.GOOS {
	case "darwin":
		return "install " + t.name + ", for instance with Homebrew (https://brew.sh): brew install " + t.name
	case "windows":
		return "install " + t.name
	}
	return "install " + t.name + " with the package manager of this system"
}
