// The accuracy surface: a cell for every step size and weight scale, which the pointer or the keyboard chooses.

import { brief, element, measured } from "./elements.js";
import { cividis } from "./pictures.js";

/** Show heights (larger is better) on the axes. It calls `choose` with the chosen cell, and returns the range of heights in words. */
export function drawSurface(parent, { deltas, scales, heights, name, choose }) {
  const low = Math.min(...heights), high = Math.max(...heights), best = heights.indexOf(high);
  const fine = name === "accuracy" && high - low < 0.01;
  const written = (height) => (fine ? (100 * height).toFixed(2) : measured(name, Math.abs(height)).replace(" %", ""));
  if (parent.childElementCount === 0) makeCells(parent, deltas, scales, choose);
  parent.querySelector(".cells").classList.toggle("fine", fine);
  parent.querySelectorAll("button").forEach((button, cell) => {
    const { background, ink } = cividis(high > low ? (heights[cell] - low) / (high - low) : 1);
    const text = written(heights[cell]);
    Object.assign(button.style, { background, color: ink });
    button.textContent = text;
    button.setAttribute("aria-label", `step size ${brief(deltas[Math.floor(cell / scales.length)])}, weight scale `
      + `${brief(scales[cell % scales.length])}: ${text}${cell === best ? ", the best" : ""}`);
  });
  return `${written(low)} to ${written(high)}`;
}

function makeCells(parent, deltas, scales, choose) {
  const plane = element("div", "", "plane"), cells = element("div", "", "cells");
  cells.style.gridTemplateColumns = `repeat(${scales.length}, minmax(0, 1fr))`;
  cells.setAttribute("role", "group");
  cells.setAttribute("aria-label", "Cells by step size and weight scale; the arrow keys move between them");
  deltas.forEach((delta, i) => scales.forEach((scale, j) => {
    const button = element("button");
    Object.assign(button, { type: "button", tabIndex: i + j === 0 ? 0 : -1 });
    button.addEventListener("click", () => choose({ delta, scale }));
    cells.append(button);
  }));
  cells.addEventListener("keydown", (event) => {
    const buttons = [...cells.querySelectorAll("button")], here = buttons.indexOf(document.activeElement);
    const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: scales.length, ArrowUp: -scales.length };
    if (!(event.key in moves)) return;
    const move = moves[event.key], there = here + move;
    const wraps = Math.abs(move) === 1 && Math.floor(there / scales.length) !== Math.floor(here / scales.length);
    if (there < 0 || there >= buttons.length || wraps) return;
    event.preventDefault();
    [buttons[here].tabIndex, buttons[there].tabIndex] = [-1, 0];
    buttons[there].focus();
  });
  const rows = element("div", "", "axis rows"), columns = element("div", "", "axis columns");
  rows.append(...deltas.map((value) => element("span", brief(value))));
  columns.style.gridTemplateColumns = cells.style.gridTemplateColumns;
  columns.append(...scales.map((value) => element("span", brief(value))));
  cells.append(element("div", "", "marker"));
  plane.append(rows, cells, element("span", "δ ↓  σ² →", "corner"), columns);
  parent.replaceChildren(plane);
}

/** Put the ring at the values of the sliders, between cells if the values are between those of the cells. */
export function moveRing(parent, { deltas, scales, delta, scale }) {
  const ring = parent.querySelector(".marker");
  if (ring === null) return;
  const share = (axis, value) => {
    if (axis.length < 2) return 0.5;
    const [from, to] = [Math.log(axis[0]), Math.log(axis[axis.length - 1])];
    const position = Math.min(1, Math.max(0, (Math.log(value) - from) / (to - from)));
    return (position * (axis.length - 1) + 0.5) / axis.length;
  };
  ring.style.left = `${100 * share(scales, scale)}%`;
  ring.style.top = `${100 * share(deltas, delta)}%`;
}
