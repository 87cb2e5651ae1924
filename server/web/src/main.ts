import { mount } from "svelte";
import App from "./App.svelte";
import "./css/page.css";
import { install } from "./lib/device";

const target = document.getElementById("app")!;
target.replaceChildren(); // what was to be seen until now
mount(App, { target });
install();
