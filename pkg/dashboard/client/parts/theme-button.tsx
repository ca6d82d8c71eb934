import { useState } from 'preact/hooks';
import {
  applyTheme,
  type Preferences,
  readPreferences,
  writePreferences,
} from '#dashboard/client/platform/preferences.js';

const order: readonly Preferences['theme'][] = ['system', 'dark', 'light'];
const signs = { system: '◐', dark: '☾', light: '☀' } as const;

export function ThemeButton() {
  const [{ theme }, setPreferences] = useState(readPreferences);
  const next = order[(order.indexOf(theme) + 1) % order.length] ?? 'system';
  const change = () => {
    const preferences = { theme: next };
    writePreferences(preferences);
    applyTheme(preferences);
    setPreferences(preferences);
  };
  return (
    <button type="button" class="icon" aria-label={`Colours: ${theme}`} title={`Colours: ${theme}`} onClick={change}>
      {signs[theme]}
    </button>
  );
}
