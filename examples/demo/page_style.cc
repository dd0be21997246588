// SPDX-License-Identifier: Apache-2.0
#include "page_style.h"

namespace oncemq::demo {

// Paper is always light: the dark colors are for screens alone. A narrow screen shows a chart in
// its full size, with a scroll bar of its own, and each row of a table as a block.
const std::string_view kPageStyle = R"(
:root { color-scheme: light; --page: #fff; --text: #1c2733; --soft: #f5f7fa; --shade: #e9edf2;
  --edge: #d5dbe2; --good: #1b7f4b; --bad: #b3261e; --effects: #2f6fb0; --others: #e08a1e; }
@media screen and (prefers-color-scheme: dark) {
  :root { color-scheme: dark; --page: #14191f; --text: #dce3ea; --soft: #1e262f; --shade: #26303b;
    --edge: #3d4956; --good: #4cc38a; --bad: #ff8f85; --effects: #6aa9e6; --others: #f0a64a; }
}
body { font: 16px/1.5 sans-serif; color: var(--text); background: var(--page); max-width: 960px;
  margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; margin-bottom: 0; } h2 { font-size: 1.2em; margin-top: 2em; }
.origin, .hint { font-size: 0.85em; }
.hint { display: none; }
.runs { display: flex; flex-wrap: wrap; gap: 1em; }
.run { flex: 1 1 20em; padding: 0.6em 1em; border-left: 6px solid var(--bad);
  background: var(--soft); }
.run.ok { border-color: var(--good); }
.run b { display: block; font-size: 1.3em; }
table { border-collapse: collapse; width: 100%; font-size: 0.85em; }
th, td { text-align: left; vertical-align: top; padding: 0.35em 0.6em;
  border-bottom: 1px solid var(--edge); }
summary { cursor: pointer; margin: 1em 0; }
.yes { color: var(--good); font-weight: bold; } .no { color: var(--bad); font-weight: bold; }
.chart { overflow-x: auto; }
svg { display: block; width: 100%; min-width: 900px; height: auto; font: 13px sans-serif; }
svg text { fill: var(--text); }
.effects { fill: var(--effects); } .others { fill: var(--others); }
.without .others { fill: var(--bad); }
.shade { fill: var(--shade); }
.wait text { font-style: italic; stroke: var(--shade); stroke-width: 4px; paint-order: stroke; }
.grid { stroke: var(--edge); } .at { stroke: var(--text); stroke-dasharray: 4 3; }
.kill .at { stroke: var(--bad); stroke-width: 2; stroke-dasharray: none; }
svg .kill text { fill: var(--bad); font-weight: bold; }
@media screen and (max-width: 960px) { .hint { display: block; } }
@media screen and (max-width: 40em) {
  body { margin: 1em auto; }
  table, tbody, tr, td { display: block; }
  tr { border-bottom: 1px solid var(--edge); padding: 0.35em 0; }
  td { border: 0; padding: 0.15em 0; }
  td:first-child { font-weight: bold; }
  td[data-run]::before { content: attr(data-run) ": "; }
  .heads { display: none; }
}
@media print {
  body { max-width: none; margin: 0; padding: 0; font-size: 11pt; }
  svg { min-width: 0; }
  .chart { overflow: visible; }
  .chart, .run, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .run, rect { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
@media print {
  details::details-content { content-visibility: visible; block-size: auto; }
}
)";

}  // namespace oncemq::demo
