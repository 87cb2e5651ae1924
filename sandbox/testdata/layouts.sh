# The layouts of toolchains in which the projects run: a function for each. It is
# called outside with HOME, the person's home directory, which is empty, and WS, the
# workspace; it makes what a manager would, and sets PATH and other variables as the
# person's shell would. Toolchains are made from those of the system: what matters is
# where they are, and the packages that they alone have.

# python_at DIR makes a Python in DIR with packages that no other has.
python_at() {
	/usr/bin/python3 -m venv --without-pip "$1"
	plant "$1"/lib/python3.*/site-packages
}

# plant DIR puts packages into a directory.
plant() {
	mkdir -p "$1/shop"
	echo 'def total(*prices): return sum(prices)' > "$1/shop/__init__.py"
	test -z "$PYTEST_PARTS" || cp -a $PYTEST_PARTS "$1"
}

# wrap FILE PROGRAM makes a program that runs another one.
wrap() {
	mkdir -p "$(dirname "$1")"
	printf '#!/bin/sh\nLAYOUT=%s exec %s "$@"\n' "$LAYOUT" "$2" > "$1"
	chmod +x "$1"
}

# node_at DIR makes a Node in DIR with a package that no other has.
node_at() {
	mkdir -p "$1/bin" "$1/include/node" "$1/lib/node_modules/greet"
	wrap "$1/bin/node" "$(command -v node)"
	wrap "$1/bin/npm" "$(command -v npm)"
	echo 'exports.greet = n => "hello " + n' > "$1/lib/node_modules/greet/index.js"
	printf '#!/usr/bin/env node\nconsole.log(require("../lib/node_modules/greet").greet("tool"))\n' > "$1/bin/greet"
	chmod +x "$1/bin/greet"
	export NODE_PATH="$1/lib/node_modules"
}

layout_system() { :; }

layout_venv() { python_at "$WS/.venv"; export PATH="$WS/.venv/bin:$PATH" VIRTUAL_ENV="$WS/.venv"; }

layout_venv_of_pyenv() {
	layout_pyenv_version
	"$HOME/.pyenv/versions/3.99.1/bin/python3" -m venv --without-pip --system-site-packages "$WS/.venv"
	# as an environment of a Python that was built there
	ln -sfn "$HOME/.pyenv/versions/3.99.1/bin/python3" "$WS/.venv/bin/python3"
	sed -i "s|^home = .*|home = $HOME/.pyenv/versions/3.99.1/bin|" "$WS/.venv/pyvenv.cfg"
	plant "$WS"/.venv/lib/python3.*/site-packages
	export PATH="$WS/.venv/bin:$PATH" VIRTUAL_ENV="$WS/.venv"
}

layout_venv_elsewhere() { python_at "$HOME/venvs/shop"; export PATH="$HOME/venvs/shop/bin:$PATH" VIRTUAL_ENV="$HOME/venvs/shop"; }

layout_pyenv_version() {
	python_at "$HOME/.pyenv/versions/3.99.1"
	mkdir -p "$HOME/.pyenv/libexec" "$HOME/.pyenv/shims"
	export PATH="$HOME/.pyenv/versions/3.99.1/bin:$PATH"
}

layout_pyenv_shims() { # as pyenv does it: a shim asks where the version is
	python_at "$HOME/.pyenv/versions/3.99.1"
	echo 3.99.1 > "$HOME/.pyenv/version"
	mkdir -p "$HOME/.pyenv/bin" "$HOME/.pyenv/shims"
	cat > "$HOME/.pyenv/bin/pyenv" <<-'END'
		#!/bin/sh
		shift
		name=$1
		shift
		exec "$PYENV_ROOT/versions/$(cat .python-version 2>/dev/null || cat "$PYENV_ROOT/version")/bin/$name" "$@"
	END
	for name in python python3; do
		printf '#!/bin/sh\nexport PYENV_ROOT=%s\nexec %s exec %s "$@"\n' "$HOME/.pyenv" "$HOME/.pyenv/bin/pyenv" $name > "$HOME/.pyenv/shims/$name"
	done
	chmod +x "$HOME"/.pyenv/bin/* "$HOME"/.pyenv/shims/*
	export PATH="$HOME/.pyenv/shims:$HOME/.pyenv/bin:$PATH" PYENV_ROOT="$HOME/.pyenv"
}

layout_conda() { python_at "$HOME/miniconda3"; mkdir "$HOME/miniconda3/conda-meta"; export PATH="$HOME/miniconda3/bin:$PATH"; }

layout_conda_environment() {
	mkdir -p "$HOME/miniforge3/conda-meta" "$HOME/miniforge3/envs"
	python_at "$HOME/miniforge3/envs/shop"
	export PATH="$HOME/miniforge3/envs/shop/bin:$PATH" CONDA_PREFIX="$HOME/miniforge3/envs/shop" CONDA_DEFAULT_ENV=shop
}

layout_uv() { # a managed Python, linked from where uv links it
	managed="$HOME/.local/share/uv/python/cpython-3.99.1-linux-x86_64-gnu"
	python_at "$managed"
	mkdir -p "$HOME/.local/bin"
	wrap "$managed/bin/start" "$managed/bin/python3"
	ln -s "$managed/bin/start" "$HOME/.local/bin/python3"
	ln -s python3 "$HOME/.local/bin/python"
	echo 'not a tool' > "$HOME/.local/bin/secret"
	export PATH="$HOME/.local/bin:$PATH"
}

layout_poetry() {
	python_at "$HOME/.cache/pypoetry/virtualenvs/shop-Ab12-py3.11"
	export PATH="$HOME/.cache/pypoetry/virtualenvs/shop-Ab12-py3.11/bin:$PATH"
}

layout_pipx() { # a tool in an environment of its own
	python_at "$HOME/.local/share/pipx/venvs/shop"
	mkdir -p "$HOME/.local/bin"
	printf '#!%s\nimport sys\nfrom shop import total\nsys.exit(print(total(1, 2)))\n' "$HOME/.local/share/pipx/venvs/shop/bin/python3" > "$HOME/.local/share/pipx/venvs/shop/bin/shop"
	chmod +x "$HOME/.local/share/pipx/venvs/shop/bin/shop"
	ln -s ../share/pipx/venvs/shop/bin/shop "$HOME/.local/bin/shop"
	export PATH="$HOME/.local/bin:$PATH"
}

layout_user_packages() { # pip install --user
	plant "$HOME/.local/lib/python$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')/site-packages"
	mkdir -p "$HOME/.local/bin"
	printf '#!/usr/bin/python3\nimport sys\nfrom shop import total\nsys.exit(print(total(1, 2)))\n' > "$HOME/.local/bin/shop"
	chmod +x "$HOME/.local/bin/shop"
	export PATH="$HOME/.local/bin:/usr/bin:$PATH"
}

layout_asdf() {
	python_at "$HOME/.asdf/installs/python/3.99.1"
	wrap "$HOME/.asdf/shims/python3" "$HOME/.asdf/installs/python/3.99.1/bin/python3"
	export PATH="$HOME/.asdf/shims:$PATH" ASDF_DATA_DIR="$HOME/.asdf"
}

layout_mise() { python_at "$HOME/.local/share/mise/installs/python/3.99.1"; export PATH="$HOME/.local/share/mise/installs/python/3.99.1/bin:$PATH"; }

layout_python_in_path() { python_at "$HOME/tools/python3.99"; export PATH="$HOME/tools/python3.99/bin:$PATH"; }

layout_nvm() {
	node_at "$HOME/.nvm/versions/node/v20.99.0"
	echo > "$HOME/.nvm/nvm.sh"
	export PATH="$HOME/.nvm/versions/node/v20.99.0/bin:$PATH" NVM_DIR="$HOME/.nvm" NVM_BIN="$HOME/.nvm/versions/node/v20.99.0/bin"
}

layout_volta() {
	node_at "$HOME/.volta/tools/image/node/20.99.0"
	for name in node npm greet; do wrap "$HOME/.volta/bin/$name" "$HOME/.volta/tools/image/node/20.99.0/bin/$name"; done
	export PATH="$HOME/.volta/bin:$PATH" VOLTA_HOME="$HOME/.volta"
}

layout_fnm() { # PATH has a link that fnm makes for each shell
	node_at "$HOME/.local/share/fnm/node-versions/v20.99.0/installation"
	mkdir -p "$HOME/run"
	ln -s "$HOME/.local/share/fnm/node-versions/v20.99.0/installation" "$HOME/run/123"
	export PATH="$HOME/run/123/bin:$PATH"
}

layout_node_mise() { node_at "$HOME/.local/share/mise/installs/node/20.99.0"; export PATH="$HOME/.local/share/mise/installs/node/20.99.0/bin:$PATH"; }

layout_node_asdf() {
	node_at "$HOME/.asdf/installs/nodejs/20.99.0"
	for name in node npm greet; do wrap "$HOME/.asdf/shims/$name" "$HOME/.asdf/installs/nodejs/20.99.0/bin/$name"; done
	export PATH="$HOME/.asdf/shims:$PATH"
}

layout_node_in_path() { node_at "$HOME/tools/node"; export PATH="$HOME/tools/node/bin:$PATH"; }

# Go of the system, with a module in the person's cache: what PROXY has.
layout_go() {
	(cd "$WS" && GOPROXY="file://$PROXY" GONOSUMDB='*' GOFLAGS="-mod=mod -modcacherw" go mod download all && go mod verify) > /dev/null
}

layout_go_sdk() {
	mkdir -p "$HOME/sdk/go1.99.0"
	for name in "$(go env GOROOT)"/*; do ln -s "$name" "$HOME/sdk/go1.99.0/"; done
	layout_go
	export PATH="$HOME/sdk/go1.99.0/bin:$PATH"
}

# Rust by rustup, which is in the home directory of whoever runs the tests, with a
# package in the home directory of this one.
layout_rustup() {
	at="$HOME/.cargo/registry/src/mirror"
	mkdir -p "$at"
	mv "$WS/adder" "$at/adder-0.1.0"
	echo '{"files": {}, "package": null}' > "$at/adder-0.1.0/.cargo-checksum.json"
	cat > "$HOME/.cargo/config.toml" <<-END
		[source.crates-io]
		replace-with = "mirror"

		[source.mirror]
		directory = "$at"

		[registry]
		token = "SECRET"

		[alias]
		ck = "check"
	END
	echo 'token = "SECRET"' > "$HOME/.cargo/credentials.toml"
}

layout_sdkman() {
	mkdir -p "$HOME/.sdkman/candidates/java/17.99-x"
	for name in "$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")"/*; do ln -s "$name" "$HOME/.sdkman/candidates/java/17.99-x/"; done
	ln -s 17.99-x "$HOME/.sdkman/candidates/java/current"
	export PATH="$HOME/.sdkman/candidates/java/current/bin:$PATH" JAVA_HOME="$HOME/.sdkman/candidates/java/current" SDKMAN_DIR="$HOME/.sdkman"
}

LAYOUT=$1
umask 022
layout_"$1" >&2 && env -0
