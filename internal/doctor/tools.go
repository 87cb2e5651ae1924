package doctor

import (
	"context"
	"strings"

	"github.com/openmanus-go/openmanus/internal/install"
)

// install returns the command or sentence that says how to install p here.
func (c *checker) install(p install.Program) string { return p.Advice(c.LookPath, c.GOOS) }

// shell checks bash, which the tool of that name runs.
func (c *checker) shell(ctx context.Context) []Finding {
	remedy := c.install(install.Program{Debian: []string{"bash"}, Names: map[string]string{"winget": "Git.Git"}})
	return c.program(ctx, Missing, "bash", []string{"bash"}, "no command can be run", remedy)
}

// python checks the interpreter of python_execute.
func (c *checker) python(ctx context.Context) []Finding {
	const name = "python"
	names := []string{"python3", "python"}
	remedy := c.install(install.Program{Debian: []string{"python3"}, Names: map[string]string{
		"brew": "python", "pacman": "python", "winget": "Python.Python.3.13"}})
	if c.Config != nil && c.Config.Python.Interpreter != "" {
		names = []string{c.Config.Python.Interpreter}
		remedy = "correct [tools.python] interpreter (" + c.Config.Origin("tools.python.interpreter").String() + "), or " + remedy
	}
	path, ok := c.first(names...)
	if !ok {
		return one(name, Warn, strings.Join(names, ", ")+": not found"+c.where+", so python_execute does not work", remedy)
	}
	version, err := c.asked(ctx, path, "--version")
	switch {
	case err != nil:
		return one(name, Warn, path+" does not run, so python_execute does not work: "+err.Error(), remedy)
	case !strings.HasPrefix(version, "Python 3."):
		return one(name, Warn, path+" is not Python 3 but says "+version, remedy)
	}
	return append(one(name, OK, path+", "+version+c.where, ""), c.matplotlib(ctx, path)...)
}

// matplotlib checks the Python package that draws figures, without importing it,
// which would take seconds.
func (c *checker) matplotlib(ctx context.Context, python string) []Finding {
	const name = "matplotlib"
	version, err := c.asked(ctx, python, "-c", "import importlib.metadata as m; print(m.version('matplotlib'))")
	if err != nil && !strings.HasPrefix(python, "/usr/bin/") && c.where != "" {
		return one(name, Warn, "not found"+c.where+", so python_execute shows no figures",
			"outside of the sandbox: "+python+" -m pip install matplotlib")
	}
	if err != nil {
		return one(name, Warn, "not found"+c.where+", so python_execute shows no figures", c.install(install.Matplotlib)+
			", or "+python+" -m pip install matplotlib")
	}
	return one(name, OK, version+c.where, "")
}

// git checks git, which agents use on repositories.
func (c *checker) git(ctx context.Context) []Finding {
	remedy := c.install(install.Program{Debian: []string{"git"}, Names: map[string]string{"winget": "Git.Git"}})
	return c.program(ctx, Warn, "git", []string{"git"}, "it is needed for tasks on repositories", remedy)
}

// chromium checks for a browser, also in places of macOS and Windows that are not
// in PATH.
func (c *checker) chromium(ctx context.Context) []Finding {
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge"}
	remedy := c.install(install.Chromium)
	for _, path := range []string{
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
		`C:\Program Files\Google\Chrome\Application\chrome.exe`, `C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe`,
	} {
		if _, err := c.Stat(path); err == nil {
			return one("chromium", OK, path, "") // asking it for its version would open a window
		}
	}
	found := c.program(ctx, Warn, "chromium", names, "browser_use does not work", remedy)
	if path, ok := c.first(names...); ok && found[0].State == OK {
		return c.chromiumSandbox(ctx, path, found[0])
	}
	return found
}

// chromiumSandbox checks whether the Chromium at path can make its own sandbox. found is
// what is known of it otherwise. A browser that does not answer in time may be slow only.
func (c *checker) chromiumSandbox(ctx context.Context, path string, found Finding) []Finding {
	const without = "set [browser] sandbox = false, but only where a page may do what openmanus may, such as in a container of its own"
	switch {
	case c.GOOS != "linux":
		return []Finding{found}
	case c.Config != nil && !c.Config.Browser.Sandbox:
		found.Detail += ", without its own sandbox ([browser] sandbox = false)"
		return []Finding{found}
	case c.Root:
		return one(found.Name, Warn, found.Detail+", does not start as root: browser_use does not work", "run openmanus as another user, or "+without)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if out, _ := c.Run(ctx, path, "--headless", "--disable-gpu", "--dump-dom", "about:blank"); strings.Contains(out, "No usable sandbox") {
		return one(found.Name, Warn, found.Detail+", cannot make its own sandbox: browser_use does not work",
			"install the Chromium of the system's packages (on Debian with chromium-sandbox), or allow user namespaces: "+
				"sysctl kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; or "+without)
	}
	return []Finding{found}
}

// bubblewrap checks the program that makes the default sandbox, and makes one:
// containers often forbid it.
func (c *checker) bubblewrap(ctx context.Context) []Finding {
	const name = "bubblewrap"
	if c.GOOS != "linux" {
		return one(name, OK, "not for "+c.GOOS, "")
	}
	if path, ok := c.first("bwrap"); ok {
		if _, err := c.asked(ctx, path, "--unshare-all", "--ro-bind", "/", "/", "--", path, "--version"); err != nil {
			return one(name, Warn, path+" cannot make a sandbox: "+err.Error(),
				"allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; "+
					"in a container, start it with them allowed")
		}
	}
	return c.program(ctx, Warn, name, []string{"bwrap"}, "commands run in Landlock, which isolates them less", c.install(install.Program{Debian: []string{name}}))
}

// path warns of directories of PATH that others can write: openmanus starts nothing from
// there, and what else the user starts may be what an agent wrote.
func (c *checker) path(context.Context) []Finding {
	if c.Path == nil {
		return nil
	}
	var all []string
	for _, p := range c.Path() {
		all = append(all, p.Dir+": "+p.Why)
	}
	if len(all) == 0 {
		return nil
	}
	return one("PATH", Warn, "openmanus starts no program from "+strings.Join(all, "\n"),
		"take what you do not need out of PATH; install programs that openmanus is to use where only you or root can write")
}

// program checks one of the programs called names. Without it, the state is bad
// and use says what does not work.
func (c *checker) program(ctx context.Context, bad State, name string, names []string, use, remedy string) []Finding {
	path, ok := c.first(names...)
	if !ok {
		return one(name, bad, "not found"+c.where+": "+use, remedy)
	}
	version, err := c.asked(ctx, path, "--version")
	if err != nil {
		return one(name, bad, path+" does not run: "+err.Error(), remedy)
	}
	return one(name, OK, path+", "+version+c.where, "")
}

// terminal reports whether the user can be asked, and how output looks.
func (c *checker) terminal(context.Context) []Finding {
	const name = "terminal"
	get := func(v string) string { s, _ := c.Env(v); return s }
	t := c.Terminal
	switch {
	case !t.In && !t.Out && !t.Err:
		return one(name, OK, "none: the user cannot be asked, so a call that needs approval ends the run with exit code 4", "")
	case !t.In:
		return one(name, OK, "standard input is no terminal: the user cannot be asked, so a call that needs approval ends the run with exit code 4", "")
	}
	detail := get("TERM")
	if detail == "" || detail == "dumb" {
		detail = "plain"
	}
	if get("NO_COLOR") != "" {
		detail += ", no colours (NO_COLOR)"
	}
	for _, v := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if l := strings.ToLower(get(v)); l != "" {
			if c.GOOS != "windows" && !strings.Contains(l, "utf-8") && !strings.Contains(l, "utf8") {
				return one(name, Warn, detail+", "+v+"="+get(v)+" is not UTF-8, so some characters may look wrong", "export LC_ALL=C.UTF-8")
			}
			break
		}
	}
	return one(name, OK, detail, "")
}
