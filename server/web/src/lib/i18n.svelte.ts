// The words of the page, in English and Chinese.

const words = {
  newTask: ["New task", "新任务"],
  what: ["What do you want done?", "想让我做什么？"],
  start: ["Start", "开始"],
  agent: ["Agent", "智能体"],
  model: ["Model", "模型"],
  workspace: ["Folder", "文件夹"],
  newFolder: ["a new one", "新建一个"],
  approve: ["Without asking", "无需询问"],
  approve_ask: ["nothing that changes something", "不做任何更改"],
  approve_edits: ["edit files", "编辑文件"],
  approve_all: ["everything", "全部"],
  approve_readonly: ["nothing, and nothing is changed", "只读"],
  way: ["How", "方式"],
  alone: ["An agent does it", "由一个智能体完成"],
  evaluated: ["Attempt it several times, in copies; a critic picks the best", "在副本中多次尝试，由评审选出最佳"],
  attempts: ["Attempts", "尝试次数"],
  planned: ["Plan first; agents of their own do the steps", "先制定计划，再由各个智能体分步执行"],
  above: ["The session that asked for this one", "上级会话"],
  below: ["Sessions that it asked for", "下级会话"],
  steps: ["Steps at most", "最多步数"],
  cost: ["Dollars at most", "最多花费（美元）"],
  more: ["More", "更多"],
  history: ["Before", "历史"],
  search: ["Search what was said", "搜索对话内容"],
  nothing: ["Nothing yet.", "还没有内容。"],
  notFound: ["Nothing was found.", "没有找到。"],
  examples: ["For example", "例如"],
  drop: ["Drop files here, or choose", "拖放文件到此处，或选择"],
  send: ["Send", "发送"],
  say: ["Say something; it is heard while it works", "说点什么；工作时也能听到"],
  stop: ["Stop", "停止"],
  retry: ["Go on", "继续"],
  fork: ["Fork here", "从此处分支"],
  edit: ["Edit and say anew", "编辑后重新发送"],
  share: ["Save as a page", "保存为网页"],
  exportIt: ["Export", "导出"],
  remove: ["Delete", "删除"],
  sure: ["Delete this session and all that was kept of it?", "删除此会话及其全部内容？"],
  rename: ["Rename", "重命名"],
  allow: ["Allow", "允许"],
  deny: ["Deny", "拒绝"],
  denyWhy: ["Why not? (the agent reads it)", "为什么不行？（智能体会看到）"],
  change: ["Change the arguments", "修改参数"],
  wants: ["wants to run", "想要运行"],
  asks: ["asks", "提问"],
  answer: ["Answer", "回答"],
  exactly: ["Exactly this will happen:", "将会执行："],
  thinking: ["Thinking", "思考"],
  arguments: ["Arguments", "参数"],
  result: ["Result", "结果"],
  whole: ["The whole output", "完整输出"],
  copy: ["Copy", "复制"],
  copied: ["Copied", "已复制"],
  computer: ["The agent's computer", "智能体的电脑"],
  conversation: ["Conversation", "对话"],
  follow: ["Follow", "跟随"],
  terminal: ["Terminal", "终端"],
  files: ["Files", "文件"],
  plan: ["Plan", "计划"],
  noPlan: ["There is no plan.", "没有计划。"],
  noTerminal: ["Nothing was run.", "还没有运行命令。"],
  noWork: ["Nothing to see yet.", "暂无内容。"],
  download: ["Download", "下载"],
  noPreview: ["There is no preview of this; download it.", "无法预览，请下载。"],
  now: ["Now", "现在"],
  past: ["This is how it was. Files are shown as the journal knows them; the folder itself is as it is now.", "这是当时的状态。文件按日志显示；文件夹本身是现在的状态。"],
  slider: ["Go back in time", "回到过去"],
  offline: ["The connection is gone; what happens meanwhile is not lost.", "连接已断开；期间的内容不会丢失。"],
  notify: ["Tell me when it waits or ends", "等待或结束时通知我"],
  awaited: ["It has not begun yet; it is shown when it does.", "尚未开始；开始后会显示。"],
  earlier: ["Show what came before", "显示更早的内容"],
  theme: ["Light or dark", "浅色/深色"],
  language: ["中文", "English"],
  home: ["All sessions", "全部会话"],
  tokens: ["tokens", "词元"],
  children: ["from", "来自"],
  untrusted: ["from outside", "来自外部"],
  status_idle: ["idle", "空闲"],
  status_running: ["at work", "工作中"],
  status_waiting: ["waits for you", "等待你"],
  status_finished: ["done", "完成"],
  status_failed: ["failed", "失败"],
  status_stopped: ["stopped", "已停止"],
} as const;

export type Word = keyof typeof words;

function kept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // a page that was saved has no storage
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // it is forgotten when the page is closed
  }
}

class Settings {
  zh = $state((kept("language") ?? navigator.language).startsWith("zh"));
  theme = $state(kept("theme") ?? "");

  constructor() {
    this.#show();
  }

  flipLanguage(): void {
    this.zh = !this.zh;
    keep("language", this.zh ? "zh" : "en");
    this.#show();
  }

  flipTheme(): void {
    const dark = this.theme ? this.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    this.theme = dark ? "light" : "dark";
    keep("theme", this.theme);
    this.#show();
  }

  #show(): void {
    document.documentElement.lang = this.zh ? "zh" : "en";
    if (this.theme) document.documentElement.dataset.theme = this.theme;
  }
}

export const settings = new Settings();

export function t(w: Word): string {
  return words[w][settings.zh ? 1 : 0];
}
