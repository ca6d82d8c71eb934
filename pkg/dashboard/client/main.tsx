/** The dashboard's start: session, discovery, then the pages. */
import { render } from 'preact';
import { Application } from '#dashboard/client/application.js';
import { applyTheme, readPreferences } from '#dashboard/client/platform/preferences.js';

applyTheme(readPreferences());
const stage = document.getElementById('app');
if (stage !== null) render(<Application />, stage);
