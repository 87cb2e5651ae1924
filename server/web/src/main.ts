import { mount } from "svelte";
import App from "./App.svelte";
import "./page.css";

const target = document.getElementById("app")!;
target.replaceChildren(); // what was to be seen until now
mount(App, { target });
