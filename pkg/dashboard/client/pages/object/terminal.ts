/** A terminal for a WebSocket of exec: channels of the protocol's version 4. */
import { Terminal } from '@xterm/xterm';

/** The first byte of a message. */
const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
const fontSize = 13;
const scrollback = 5000;
/** Of a character, for the first guess. */
const fallback = { width: 8, height: 16 };

/** Returns a function that ends both. `onEnd` gets a sentence. */
export function openTerminal(box: HTMLElement, socket: WebSocket, onEnd: (text: string) => void): () => void {
  const style = getComputedStyle(box);
  const terminal = new Terminal({
    ...{ fontSize, scrollback, cursorBlink: true, screenReaderMode: true, convertEol: false },
    fontFamily: style.fontFamily,
    theme: { background: style.backgroundColor, foreground: style.color, cursor: style.color },
    documentOverride: quietDocument(document),
  } as ConstructorParameters<typeof Terminal>[0]);
  openQuietly(terminal, box);
  const decoder = new TextDecoder();
  let failure = '';
  const send = (to: number, text: string) => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const bytes = new TextEncoder().encode(text);
    const message = new Uint8Array(bytes.length + 1);
    message[0] = to;
    message.set(bytes, 1);
    socket.send(message);
  };
  const fit = () => {
    const screen = box.querySelector<HTMLElement>('.xterm-screen');
    const width = screen === null ? fallback.width : screen.clientWidth / terminal.cols || fallback.width;
    const height = screen === null ? fallback.height : screen.clientHeight / terminal.rows || fallback.height;
    const cols = Math.max(20, Math.floor((box.clientWidth - 20) / width));
    const rows = Math.max(6, Math.floor((box.clientHeight - 12) / height));
    if (cols !== terminal.cols || rows !== terminal.rows) terminal.resize(cols, rows);
  };
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => {
    fit();
    send(channel.resize, JSON.stringify({ Width: terminal.cols, Height: terminal.rows }));
    terminal.focus();
  };
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data === 'string') return;
    const bytes = new Uint8Array(data);
    if (bytes[0] === channel.stdout || bytes[0] === channel.stderr) terminal.write(bytes.subarray(1));
    else if (bytes[0] === channel.error) failure = statusText(decoder.decode(bytes.subarray(1)));
  };
  socket.onclose = () => onEnd(failure === '' ? 'The shell has ended.' : failure);
  terminal.onData((text) => send(channel.stdin, text));
  terminal.onResize(({ cols, rows }) => send(channel.resize, JSON.stringify({ Width: cols, Height: rows })));
  // The one way out for the keyboard: all other keys belong to the shell.
  terminal.attachCustomKeyEventHandler(({ key, ctrlKey, shiftKey }) => {
    if (key !== 'Escape' || !ctrlKey || !shiftKey) return true;
    document.querySelector<HTMLElement>('.tabs a[aria-current]')?.focus();
    return false;
  });
  const observer = new ResizeObserver(fit);
  observer.observe(box);
  return () => {
    observer.disconnect();
    socket.onclose = null;
    socket.close();
    terminal.dispose();
  };
}

function statusText(text: string): string {
  try {
    const { status, message } = JSON.parse(text) as { readonly status?: string; readonly message?: string };
    return status === 'Success' ? '' : (message ?? text);
  } catch {
    return text;
  }
}

/**
 * The terminal writes its theme into `style` elements and colours into `style` attributes, which the page's policy forbids. The
 * elements from here turn both into what the policy allows: style sheets of the document, and properties.
 */
function quietElement(of: Document, name: string): HTMLElement {
  // Not of the instance, which may be replaced for a moment.
  // Even an empty `style` element is refused.
  const element = Document.prototype.createElement.call(of, name === 'style' ? 'template' : name);
  if (name === 'style') {
    const sheet = new CSSStyleSheet();
    of.adoptedStyleSheets.push(sheet);
    Object.defineProperty(element, 'textContent', { set: (text: string) => sheet.replaceSync(text) });
    element.remove = () => {
      of.adoptedStyleSheets = of.adoptedStyleSheets.filter((each) => each !== sheet);
      Element.prototype.remove.call(element);
    };
    return element;
  }
  element.setAttribute = (attribute, value) => {
    if (attribute === 'style') element.style.cssText = value;
    else Element.prototype.setAttribute.call(element, attribute, value);
  };
  return element;
}

/** The document for the terminal's own elements. */
function quietDocument(of: Document): Document {
  return new Proxy(of, {
    get(target, name) {
      if (name === 'createElement') return (element: string) => quietElement(of, element);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** While it opens, the terminal takes some elements from the page's document itself. */
function openQuietly(terminal: Terminal, box: HTMLElement): void {
  const own = { value: (name: string) => quietElement(document, name), configurable: true };
  Object.defineProperty(document, 'createElement', own);
  try {
    terminal.open(box);
  } finally {
    Reflect.deleteProperty(document, 'createElement');
  }
}
