// The texts of the page, in English and Chinese.

const words = {
  newTask: ["New task", "新任务"],
  what: ["What do you want done?", "想让我做什么？"],
  start: ["Start", "开始"],
  agent: ["Agent", "智能体"],
  model: ["Model", "模型"],
  workspace: ["Folder", "文件夹"],
  newFolder: ["a new one", "新建一个"],
  approve: ["Approval", "审批"],
  approve_ask: ["Ask before anything outside the sandbox", "在沙箱之外执行任何操作前询问"],
  approve_edits: ["Edit files without asking; ask for the rest", "编辑文件无需询问，其余操作询问"],
  approve_all: ["Never ask", "从不询问"],
  approve_readonly: ["Read only: change nothing", "只读：不做任何更改"],
  way: ["Mode", "方式"],
  alone: ["One agent does it", "由一个智能体完成"],
  evaluated: ["Attempt it several times, in copies; a critic picks the best", "在副本中多次尝试，由评审选出最佳"],
  attempts: ["Attempts", "尝试次数"],
  planned: ["Plan first; agents do the steps", "先制定计划，再由各个智能体分步执行"],
  above: ["Parent session", "上级会话"],
  below: ["Child sessions", "下级会话"],
  steps: ["Maximum steps", "最多步数"],
  cost: ["Maximum cost in dollars", "最多花费（美元）"],
  more: ["More", "更多"],
  history: ["History", "历史"],
  search: ["Search messages", "搜索对话内容"],
  nothing: ["Nothing yet.", "还没有内容。"],
  notFound: ["No matches.", "没有找到。"],
  examples: ["For example", "例如"],
  drop: ["Drop files here, or choose", "拖放文件到此处，或选择"],
  send: ["Send", "发送"],
  say: ["Send a message; the agent reads it while it works", "发送消息；智能体工作时也会看到"],
  stop: ["Stop", "停止"],
  retry: ["Continue", "继续"],
  fork: ["Fork here", "从此处分支"],
  edit: ["Edit and send again", "编辑后重新发送"],
  share: ["Save as a page", "保存为网页"],
  exportIt: ["Export", "导出"],
  remove: ["Delete", "删除"],
  sure: ["Delete this session and everything stored for it?", "删除此会话及其全部内容？"],
  rename: ["Rename", "重命名"],
  allow: ["Allow", "允许"],
  allowSite: ["Always allow in this session:", "本会话中一律允许："],
  deny: ["Deny", "拒绝"],
  denyWhy: ["Reason (the agent reads it)", "原因（智能体会看到）"],
  change: ["Change the arguments", "修改参数"],
  wants: ["wants to run", "想要运行"],
  asks: ["asks", "提问"],
  answer: ["Answer", "回答"],
  exactly: ["This is exactly what will run:", "将会执行："],
  does: ["This is what it will do:", "其效果是："],
  thinking: ["Thinking", "思考"],
  arguments: ["Arguments", "参数"],
  result: ["Result", "结果"],
  whole: ["Complete output", "完整输出"],
  copy: ["Copy", "复制"],
  copied: ["Copied", "已复制"],
  computer: ["The agent's computer", "智能体的电脑"],
  conversation: ["Conversation", "对话"],
  follow: ["Follow", "跟随"],
  terminal: ["Terminal", "终端"],
  files: ["Files", "文件"],
  plan: ["Plan", "计划"],
  noPlan: ["There is no plan.", "没有计划。"],
  noTerminal: ["No command has run.", "还没有运行命令。"],
  noWork: ["Nothing to show yet.", "暂无内容。"],
  download: ["Download", "下载"],
  noPreview: ["No preview for this file; download it.", "无法预览，请下载。"],
  now: ["Now", "现在"],
  past: ["This is a past state. Files are shown as the journal records them; the folder itself is in its present state.", "这是当时的状态。文件按日志显示；文件夹本身是现在的状态。"],
  slider: ["Go back in time", "回到过去"],
  offline: ["Disconnected. Nothing that happens meanwhile is lost.", "连接已断开；期间的内容不会丢失。"],
  notify: ["Notify me when it waits or ends", "等待或结束时通知我"],
  awaited: ["It has not started yet; it will appear here.", "尚未开始；开始后会显示。"],
  earlier: ["Show earlier messages", "显示更早的内容"],
  theme: ["Light or dark", "浅色/深色"],
  language: ["中文", "English"],
  home: ["All sessions", "全部会话"],
  tokens: ["tokens", "词元"],
  children: ["from", "来自"],
  sources: ["Where the arguments came from", "参数来源"],
  fromYou: ["you", "你"],
  fromProgram: ["the program", "程序本身"],
  fromWorkspace: ["the workspace", "工作区"],
  fromMCP: ["the MCP server", "MCP 服务器"],
  fromFile: ["the file", "文件"],
  fromSession: ["the session", "会话"],
  disguised: ["as", "编码为"],
  private: ["private", "私密"],
  trusted: ["trusted", "可信"],
  notTrusted: ["not trusted", "不可信"],
  untrusted: ["from outside", "来自外部"],
  status_idle: ["idle", "空闲"],
  status_running: ["running", "运行中"],
  status_waiting: ["waiting for you", "等待你"],
  status_finished: ["done", "完成"],
  status_failed: ["failed", "失败"],
  status_stopped: ["stopped", "已停止"],
} as const;

export type Word = keyof typeof words;

function kept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // an exported page has no storage
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // the setting lasts until the page is closed
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
