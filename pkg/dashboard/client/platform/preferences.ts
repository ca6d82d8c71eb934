/** What the browser remembers: how the pages look, and nothing of the cluster. */
export interface Preferences {
  readonly theme: 'system' | 'dark' | 'light';
}

const place = 'orch-dashboard';
const defaults: Preferences = { theme: 'system' };
const themes: readonly string[] = ['system', 'dark', 'light'];

export function readPreferences(): Preferences {
  try {
    const { theme } = JSON.parse(localStorage.getItem(place) ?? '{}') as { readonly theme?: string };
    return theme !== undefined && themes.includes(theme) ? { theme: theme as Preferences['theme'] } : defaults;
  } catch {
    // Not ours, or the browser forbids storage.
    return defaults;
  }
}

export function writePreferences(preferences: Preferences): void {
  try {
    localStorage.setItem(place, JSON.stringify(preferences));
  } catch {
    // The browser forbids storage: the choice lasts as long as the page.
  }
}

/** The style sheet follows the attribute; without it, the system. */
export function applyTheme({ theme }: Preferences): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
