//! Colours of the pictures can be told apart, also by people who see no red or no green (8 % of men).
//!
//! How they see is simulated by the matrices of Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color
//! Vision Deficiency", IEEE TVCG 15 (6), 2009, severity 1.0, on linear RGB. Distances are CIEDE2000 (Sharma, Wu, Dalal 2005): 1 is just
//! noticed, and what lies side by side must differ by much more.

use crate::forms::html::script::{PAGE, STYLE};

/// The least distance of colours that stand side by side.
const LEAST: f64 = 13.0;

type Matrix = [[f64; 3]; 3];
const NORMAL: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const PROTANOPIA: Matrix =
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]];
const DEUTERANOPIA: Matrix =
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]];
/// From linear sRGB to XYZ, in parts of the white point D65.
const TO_XYZ: Matrix = [[0.433953, 0.376219, 0.189828], [0.212673, 0.715152, 0.072175], [0.017757, 0.109473, 0.872765]];

fn times(matrix: Matrix, [a, b, c]: [f64; 3]) -> [f64; 3] {
    matrix.map(|[x, y, z]| x * a + y * b + z * c)
}

/// `#rrggbb` as linear RGB.
fn linear(hex: &str) -> [f64; 3] {
    [1, 3, 5].map(|at| {
        let part = u8::from_str_radix(&hex[at..at + 2], 16).unwrap_or_else(|_| panic!("{hex}"));
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

/// A colour in CIELAB, as it is seen.
fn seen(hex: &str, by: Matrix) -> [f64; 3] {
    let [x, y, z] = times(TO_XYZ, times(by, linear(hex)).map(|part| part.clamp(0.0, 1.0)))
        .map(|t| if t > 216.0 / 24389.0 { t.cbrt() } else { (24389.0 / 27.0 * t + 16.0) / 116.0 });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// CIEDE2000.
fn distance([l1, a1, b1]: [f64; 3], [l2, a2, b2]: [f64; 3]) -> f64 {
    let seventh = |c: f64| (c.powi(7) / (c.powi(7) + 25f64.powi(7))).sqrt();
    let more = 1.0 + 0.5 * (1.0 - seventh(f64::midpoint(a1.hypot(b1), a2.hypot(b2))));
    let (a1, a2) = (a1 * more, a2 * more);
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue = |a: f64, b: f64| b.atan2(a).to_degrees().rem_euclid(360.0);
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let is_grey = c1 * c2 == 0.0;
    let turn = if is_grey { 0.0 } else { (h2 - h1 + 180.0).rem_euclid(360.0) - 180.0 };
    let hue = if is_grey { h1 + h2 } else { (h1 + turn / 2.0).rem_euclid(360.0) };
    let (light, chroma) = (f64::midpoint(l1, l2), f64::midpoint(c1, c2));
    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(hue - 30.0) + 0.24 * cos(2.0 * hue) + 0.32 * cos(3.0 * hue + 6.0)
        - 0.20 * cos(4.0 * hue - 63.0);
    let off = (light - 50.0).powi(2);
    let dl = (l2 - l1) / (1.0 + 0.015 * off / (20.0 + off).sqrt());
    let dc = (c2 - c1) / (1.0 + 0.045 * chroma);
    let dh = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin() / (1.0 + 0.015 * chroma * t);
    let turned = 60.0 * (-((hue - 275.0) / 25.0).powi(2)).exp();
    let both = -2.0 * seventh(chroma) * turned.to_radians().sin();
    (dl * dl + dc * dc + dh * dh + both * dc * dh).sqrt()
}

/// Fails where somebody cannot tell two colours apart.
fn assert_apart(what: &str, a: &str, b: &str) {
    for (sight, matrix) in [("all colours", NORMAL), ("no red", PROTANOPIA), ("no green", DEUTERANOPIA)] {
        let apart = distance(seen(a, matrix), seen(b, matrix));
        assert!(apart >= LEAST, "{what}: {a} and {b} differ by {apart:.1} for who sees {sight}");
    }
}

/// All colours `#rrggbb` of a text in their order.
fn colours(text: &str) -> Vec<&str> {
    text.match_indices('#').filter_map(|(at, _)| text.get(at..at + 7)).collect()
}

/// The part of the script that gives a constant its value.
fn constant(name: &str) -> Vec<&'static str> {
    let rest = PAGE.split_once(&format!("const {name} = ")).unwrap_or_else(|| panic!("no {name}")).1;
    colours(rest.split_once(';').expect("an end").0)
}

/// The values of a variable of the style sheet: light, dark, printed.
fn variable(name: &str) -> Vec<&'static str> {
    STYLE.split(&format!("--{name}: ")).skip(1).filter_map(|rest| rest.get(..7)).collect()
}

#[test]
fn the_distance_is_that_of_its_authors() {
    for (a, b, wanted) in [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, -1.0, 2.0], [50.0, 0.0, 0.0], 2.3669),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
        ([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644),
        ([22.7233, 20.0904, -46.6940], [23.0331, 14.9730, -42.5619], 2.0373),
    ] {
        assert!((distance(a, b) - wanted).abs() < 1e-4 && (distance(b, a) - wanted).abs() < 1e-4, "{a:?} {b:?}");
    }
    assert!((seen("#ffffff", NORMAL)[0] - 100.0).abs() < 0.01 && seen("#808080", DEUTERANOPIA)[1].abs() < 0.1);
    // The reason for all of this: red and green of one lightness.
    assert!(distance(seen("#c83232", DEUTERANOPIA), seen("#787800", DEUTERANOPIA)) < LEAST);
    assert!(distance(seen("#c83232", NORMAL), seen("#787800", NORMAL)) > 2.0 * LEAST);
}

/// Areas of the course of the processors are stacked in this order, and begin again after the last.
#[test]
fn series_differ_from_their_neighbours() {
    let all = constant("SERIES_COLOURS");
    assert!(all.len() >= 8);
    for (a, b) in all.iter().zip(all.iter().cycle().skip(1)) {
        assert_apart("series", a, b);
    }
}

/// Any two lists can stand side by side in the strip of page frame numbers; the line of commit crosses the areas and the page.
#[test]
fn lists_and_classes_differ_from_each_other() {
    let lists = constant("LIST_COLOURS");
    assert_eq!(lists.len(), 8);
    let line = constant("COMMIT_COLOUR");
    let mut sets = vec![("lists", lists.clone())];
    let pages = variable("page");
    assert_eq!(pages.len(), 3);
    for (at, mode) in ["light", "dark", "printed"].into_iter().enumerate() {
        sets.push((mode, (0..4).map(|class| variable(&format!("class-{class}"))[at]).collect()));
        sets.push((mode, ["more", "less", "even"].map(|name| variable(name)[at]).to_vec()));
        lists.iter().take(6).for_each(|list| assert_apart("commit", line[0], list));
        assert_apart("commit", line[0], pages[at]);
    }
    for (what, set) in sets {
        for (at, a) in set.iter().enumerate() {
            set.iter().skip(at + 1).for_each(|b| assert_apart(what, a, b));
        }
    }
}
