import { useEffect, useRef } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { groupsOf } from '#dashboard/client/parts/navigation.js';
import { browserClock } from '#dashboard/client/platform/browser-clock.js';

/** The second key follows the first within this time. */
const pairMs = 1500;

interface ShortcutActions {
  readonly openPalette: () => void;
  readonly openHelp: () => void;
}

/** Keys of all pages: `Ctrl K`, `/`, `?`, and `g` with the letter of a page. */
export function useShortcuts({ openPalette, openHelp }: ShortcutActions): void {
  const { catalog, namespace, go } = useApp();
  const pair = useRef({ untilMs: 0 });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, target } = event;
      if ((ctrlKey || metaKey) && key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
        return;
      }
      if (ctrlKey || metaKey || altKey || isTyping(target)) return;
      const isSecond = browserClock.monotonic() < pair.current.untilMs;
      pair.current.untilMs = 0;
      if (isSecond) {
        const links = groupsOf(catalog, namespace).flatMap((group) => group.links);
        const link = links.find((each) => each.key === key)?.link;
        if (link === undefined) return;
        event.preventDefault();
        go(link);
      } else if (key === 'g') pair.current.untilMs = browserClock.monotonic() + pairMs;
      else if (key === '/') {
        const input = document.querySelector<HTMLElement>('main [data-shortcut="/"]');
        if (input === null) return;
        event.preventDefault();
        input.focus();
      } else if (key === '?') openHelp();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [catalog, namespace, go, openPalette, openHelp]);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable], .terminal') !== null;
}
