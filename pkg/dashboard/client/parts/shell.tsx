import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { HelpDialog } from '#dashboard/client/parts/help-dialog.js';
import { NamespaceChoice } from '#dashboard/client/parts/namespace-choice.js';
import { groupsOf } from '#dashboard/client/parts/navigation.js';
import { Palette } from '#dashboard/client/parts/palette.js';
import { useShortcuts } from '#dashboard/client/parts/shortcuts.js';
import { ThemeButton } from '#dashboard/client/parts/theme-button.js';
import { placeLink } from '#dashboard/model/places.js';

/** The frame of all pages: navigation, namespace, palette. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { place, session, dialect, catalog, namespace } = useApp();
  const [dialog, setDialog] = useState<'palette' | 'help' | undefined>(undefined);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  useShortcuts({ openPalette: () => setDialog('palette'), openHelp: () => setDialog('help') });
  const path = place.segments.join('/');
  useEffect(() => {
    setMenuOpen(false);
    const title = place.segments.at(-1) ?? 'Overview';
    document.title = `${title} · ${dialect.product}`;
  }, [path]);
  const here = placeLink(place.segments);
  return (
    <div class={`shell${isMenuOpen ? ' open' : ''}`}>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the page
      </button>
      <header class="top">
        <button
          type="button"
          class="burger"
          aria-label="Navigation"
          aria-expanded={isMenuOpen}
          aria-controls="navigation"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          ☰
        </button>
        <a class="brand" href={placeLink([], { namespace })}>
          {dialect.product}
          <span>{session.info.context ?? ''}</span>
        </a>
        <NamespaceChoice />
        <button type="button" class="palette-button" onClick={() => setDialog('palette')}>
          Go to… <kbd>Ctrl K</kbd>
        </button>
        <ThemeButton />
        <button type="button" class="icon" aria-label="Keyboard shortcuts" onClick={() => setDialog('help')}>
          ?
        </button>
      </header>
      <nav class="side" id="navigation" aria-label="Pages">
        {groupsOf(catalog, namespace).map(({ title, links }) => (
          <section key={title}>
            <h2>{title}</h2>
            <ul>
              {links.map(({ text, link }) => (
                <li key={text}>
                  <a href={link} aria-current={link.split('?')[0] === here ? 'page' : undefined}>
                    {text}
                  </a>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
      {dialog === 'palette' ? <Palette onClose={() => setDialog(undefined)} /> : null}
      {dialog === 'help' ? <HelpDialog onClose={() => setDialog(undefined)} /> : null}
    </div>
  );
}
