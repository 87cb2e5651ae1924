// The icons of the page: Lucide's (ISC), by the names that it gives them. Only those listed here are part of the build.

import {
  ArrowDown, ArrowLeft, ArrowRight, ArrowUp, Bell, Bot, Brain, ChartColumn, Check, ChevronDown, ChevronRight, ChevronUp, Circle, CircleAlert, CircleCheck, CirclePause,
  CircleQuestionMark, CircleStop, CircleX, Clock, Code, Copy, Cpu, Download, Ellipsis, Expand, ExternalLink, Eye, EyeOff, File, FileImage, FilePenLine, FileSpreadsheet,
  FileText, FileX, Folder, FolderOpen, GitBranch, Globe, Hand, HardDrive, Hash, History, Image, Info, KeyRound, Languages, ListChecks, LoaderCircle, LogIn, LogOut, Maximize2, Menu,
  MessageCircleQuestionMark, Minimize2, Moon, MousePointerClick, PanelLeft, PanelRight, Paperclip, Pause, Pencil, Play, Plug, Plus, QrCode, Radio, RefreshCw, RotateCcw, Search,
  Settings, Share, Shield, ShieldAlert, ShieldCheck, SkipBack, SkipForward, SlidersHorizontal, Square, Table, Telescope, Terminal, Trash2, TriangleAlert, Undo2, User, Users, Wallet,
  WifiOff, Wrench, X,
} from "lucide";
import type { IconNode } from "lucide";

export const icons = {
  "arrow-down": ArrowDown, "arrow-left": ArrowLeft, "arrow-right": ArrowRight, "arrow-up": ArrowUp, bell: Bell, bot: Bot, brain: Brain, "chart-column": ChartColumn, check: Check,
  "chevron-down": ChevronDown, "chevron-right": ChevronRight, "chevron-up": ChevronUp, circle: Circle, "circle-alert": CircleAlert, "circle-check": CircleCheck,
  "circle-pause": CirclePause, "circle-question-mark": CircleQuestionMark, "circle-stop": CircleStop, "circle-x": CircleX, clock: Clock, code: Code, copy: Copy, cpu: Cpu,
  download: Download, ellipsis: Ellipsis, expand: Expand, "external-link": ExternalLink, eye: Eye, "eye-off": EyeOff, file: File, "file-image": FileImage,
  "file-pen-line": FilePenLine, "file-spreadsheet": FileSpreadsheet, "file-text": FileText, "file-x": FileX, folder: Folder, "folder-open": FolderOpen,
  "git-branch": GitBranch, globe: Globe, hand: Hand, "hard-drive": HardDrive, hash: Hash, history: History, image: Image, info: Info, "key-round": KeyRound, languages: Languages,
  "list-checks": ListChecks, "loader-circle": LoaderCircle, "log-in": LogIn, "log-out": LogOut, "maximize-2": Maximize2, menu: Menu,
  "message-circle-question-mark": MessageCircleQuestionMark, "minimize-2": Minimize2, moon: Moon, "mouse-pointer-click": MousePointerClick, "panel-left": PanelLeft,
  "panel-right": PanelRight, paperclip: Paperclip, pause: Pause, pencil: Pencil, play: Play, plug: Plug, plus: Plus, "qr-code": QrCode, radio: Radio, "refresh-cw": RefreshCw,
  "rotate-ccw": RotateCcw, search: Search, settings: Settings, share: Share, shield: Shield, "shield-alert": ShieldAlert, "shield-check": ShieldCheck, "skip-back": SkipBack,
  "skip-forward": SkipForward, "sliders-horizontal": SlidersHorizontal, square: Square, table: Table, telescope: Telescope, terminal: Terminal, "trash-2": Trash2,
  "triangle-alert": TriangleAlert, "undo-2": Undo2, user: User, users: Users, wallet: Wallet, "wifi-off": WifiOff, wrench: Wrench, x: X,
} satisfies Record<string, IconNode>;

export type IconName = keyof typeof icons;

const made = new Map<IconName, string>();

/** What stands in the svg element of an icon. It is Lucide's and this file's alone. */
export function drawing(name: IconName): string {
  const known = made.get(name);
  if (known !== undefined) return known;
  const text = icons[name].map(([tag, attributes]) => `<${tag} ${Object.entries(attributes).map(([k, v]) => `${k}="${v}"`).join(" ")}/>`).join("");
  made.set(name, text);
  return text;
}
