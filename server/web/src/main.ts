import { mount } from "svelte";
import App from "./App.svelte";
import "./css/tokens.css";
import "./css/base.css";
import "./css/shell.css";
import "./css/talk.css";
import "./css/start.css";
import "./css/computer.css";
import "./css/pc.css";
import "./css/settings.css";
import "./css/narrow.css";
import "./css/public.css";
import { install } from "./lib/device";

const target = document.getElementById("app")!;
target.replaceChildren(); // what was to be seen until now
mount(App, { target });
install();
