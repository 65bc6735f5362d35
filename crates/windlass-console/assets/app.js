// The page: header, connection, and which view is shown.
import { announceAlerts } from './alerts.js';
import { read } from './api.js';
import { later } from './batch.js';
import { showDetail } from './detail.js';
import { notify, unlocked } from './dialog.js';
import { set, show, text } from './dom.js';
import { count, seconds, span } from './format.js';
import { hydrateIcons, setIcon } from './icons.js';
import { connect, followVisits } from './live.js';
import { showOverview } from './overview.js';
import { showRemote } from './remote.js';
import { currentRoute } from './route.js';
import { checkSession, lock, session, takeTokenFromAddress } from './session.js';
import { activeAlerts, emit, on, serverNow, setConnection, state, takeAlerts } from './state.js';
import { nextTheme, readPalette, theme } from './theme.js';

const by = (id) => document.getElementById(id);
const main = by('main');
let endView = null;
let shown = null;
let title = 'Windlass console';

function showRoute() {
  const route = currentRoute();
  const key = JSON.stringify(route);
  if (key === shown) return;
  const first = shown === null;
  shown = key;
  endView?.();
  document.body.dataset.view = route.view;
  const views = { overview: showOverview, pool: (place) => showDetail(place, route.name), remote: showRemote };
  endView = views[route.view](main);
  title = route.view === 'pool' ? `${route.name} · Windlass` : 'Windlass console';
  document.title = title;
  set(by('tab-pools'), 'aria-current', route.view === 'remote' ? null : 'page');
  set(by('tab-remote'), 'aria-current', route.view === 'remote' ? 'page' : null);
  if (first) return;
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
}

function drawHeader() {
  const { meta } = state;
  if (meta === null) return;
  text(by('fact-host'), `${meta.host}:${meta.pid}`);
  text(by('fact-up'), span((serverNow() - meta.started_ms) / 1000));
  text(by('fact-pools'), count(state.pools.size));
  const alerts = activeAlerts().length;
  text(by('fact-alerts'), alerts === 0 ? 'none' : count(alerts));
  by('fact-alerts-item').classList.toggle('is-alert', alerts > 0);
  const wanted = alerts === 0 ? title : `▲ ${alerts} · ${title}`;
  if (document.title !== wanted) document.title = wanted;
  text(by('foot-version'), `Windlass ${meta.windlass}`);
  show(by('tabs'), meta.remote === true);
}

const CONNECTION = { connecting: 'connecting', live: 'live', reconnecting: 'reconnecting', locked: 'locked' };
const BANNER = {
  reconnecting: 'Reconnecting: the process does not answer. The figures below are the last ones it sent.',
  locked: 'Reading needs the token too. Use “Unlock changes” in the header.',
  held: 'The view is paused. The figures stand still until you resume it.',
};

function drawConnection() {
  const shownState = state.held && state.connection === 'live' ? 'held' : state.connection;
  set(by('connection'), 'data-state', shownState);
  text(by('connection-word'), shownState === 'held' ? 'paused' : CONNECTION[state.connection]);
  const message = BANNER[shownState];
  show(by('banner'), message !== undefined);
  set(by('banner'), 'data-tone', shownState);
  if (message !== undefined) text(by('banner'), message);
  document.body.classList.toggle('is-stale', state.connection === 'reconnecting');
}

function drawSession() {
  const readOnly = state.meta?.read_only === true;
  const word = readOnly ? 'Read-only' : session.write ? 'Changes unlocked' : 'Unlock changes';
  text(by('unlock-word'), word);
  set(by('unlock'), 'aria-label', session.write ? 'Changes unlocked; lock them again' : word);
  setIcon(by('unlock').querySelector('.icon'), session.write ? 'unlock' : 'lock');
  by('unlock').disabled = readOnly;
  set(by('unlock'), 'title', readOnly ? 'The program started its console without changes' : null);
}

function hold() {
  state.held = !state.held;
  set(by('hold'), 'aria-pressed', String(state.held));
  text(by('hold-word'), state.held ? 'Resume view' : 'Pause view');
  setIcon(by('hold').querySelector('.icon'), state.held ? 'play' : 'pause');
  drawConnection();
  if (!state.held) {
    emit('resync');
    emit('pools');
  }
}

function chooseRange(rangeSeconds) {
  state.range = rangeSeconds;
  for (const button of by('range').children)
    set(button, 'aria-pressed', String(Number(button.dataset.seconds) === rangeSeconds));
  emit('range');
}

function drawTheme() {
  set(by('theme'), 'aria-label', `Theme: ${theme()}`);
  set(by('theme'), 'title', `Theme: ${theme()}`);
  setIcon(by('theme').querySelector('.icon'), `theme-${theme()}`);
}

/** What an active alert says changes while it is active; the stream tells only that it came or went. */
const ALERTS_EVERY_MS = 5_000;
let alertsReadAt = 0;

function refreshAlerts() {
  if (document.hidden || Date.now() - alertsReadAt < ALERTS_EVERY_MS) return;
  // The figures also tell of alerts that an earlier reading missed.
  const areTold = [...state.pools.values()].some((pool) => pool.alerts.length > 0);
  if (activeAlerts().length === 0 && !areTold) return;
  alertsReadAt = Date.now();
  read('alerts').then(takeAlerts, () => undefined);
}

/** The engine of the remote queues is asked for the header; the remote section tells of it by itself. */
const ENGINE_EVERY_MS = 5_000;
let engineReadAt = 0;

async function refreshEngine() {
  if (state.meta?.remote !== true || state.held || document.hidden || currentRoute().view === 'remote') return;
  if (Date.now() - engineReadAt < ENGINE_EVERY_MS) return;
  engineReadAt = Date.now();
  try {
    emit('engine', (await read('remote')).engine);
  } catch (error) {
    if (error.code === 'unavailable') emit('engine', { up: false });
  }
}

function drawEngine({ kind, up, latency_seconds: latency }) {
  show(by('fact-engine-item'), true);
  const word = up ? (latency === null ? 'up' : `up ${seconds(latency)}`) : 'down';
  text(by('fact-engine'), kind === undefined ? word : `${kind} ${word}`);
  by('fact-engine-item').classList.toggle('is-alert', !up);
}

/** What the stream does not repeat is read again after each new connection. */
async function resync() {
  drawSession();
  alertsReadAt = Date.now();
  checkSession().catch(() => undefined);
  await Promise.allSettled([read('alerts').then(takeAlerts), readAudit()]);
  emit('resync');
}

async function readAudit() {
  try {
    state.audit = (await read('audit')).entries;
    emit('audit');
  } catch {
    // The list keeps what it shows; the next connection reads it again.
  }
}

async function toggleLock() {
  if (session.write) {
    lock();
    notify('Changes are locked.');
  } else if (await unlocked({ force: true })) {
    notify('Changes are unlocked in this tab.');
    if (state.connection === 'locked') {
      setConnection('connecting');
      connect();
    }
  }
}

function start() {
  hydrateIcons(document.body);
  readPalette();
  takeTokenFromAddress();
  by('hold').addEventListener('click', hold);
  by('unlock').addEventListener('click', toggleLock);
  by('theme').addEventListener('click', nextTheme);
  by('range').addEventListener('click', ({ target }) => {
    if (target.dataset.seconds) chooseRange(Number(target.dataset.seconds));
  });
  document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault();
    main.focus();
  });
  addEventListener('hashchange', () => {
    if (takeTokenFromAddress()) checkSession().catch(() => undefined);
    showRoute();
  });
  on('pools', () => later('header', drawHeader));
  on('pools', refreshAlerts);
  on('pools', refreshEngine);
  on('reverted', readAudit);
  on('alerts', () => later('header', drawHeader));
  on('hello', () => {
    resync();
  });
  on('connection', drawConnection);
  on('session', drawSession);
  on('theme', drawTheme);
  on('engine', drawEngine);
  announceAlerts();
  drawTheme();
  chooseRange(state.range);
  showRoute();
  followVisits();
  connect();
}

start();
